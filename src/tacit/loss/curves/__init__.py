"""What one law loses: its exact privacy curve, or its log moments; each bound is rounded up."""
