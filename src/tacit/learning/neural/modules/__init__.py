"""What a module may be: layers that mix people refused, tried on made-up people, followed, and written down."""
