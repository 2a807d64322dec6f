"""Who a network learns from: rows as people, who is in a step, and chunks of them of one fixed shape."""
