"""Where rows live. The only room that touches data; what comes out is an `Exact`, which only a release can open."""
