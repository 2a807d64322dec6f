"""Linear models: noisy Newton steps and gradients, perturbed minima, and lines that follow from second moments."""
