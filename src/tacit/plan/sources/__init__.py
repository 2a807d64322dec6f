"""Where rows come from: tables, joins and SELECTs inside, each with a bound on the rows of one unit."""
