"""Order statistics: quantiles, ranges, trimmed means, and regression by medians."""
