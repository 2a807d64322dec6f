"""What a module may be: checked for layers that mix people, tried on made-up people, and written down."""
