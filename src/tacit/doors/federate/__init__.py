"""`tacit federate`: coordinator, helpers and clients as processes that talk HTTP."""
