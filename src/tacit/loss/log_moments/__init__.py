"""The log moments of the pair behind one law, log E_P[exp(z L)]; how far off each number can be is known."""
