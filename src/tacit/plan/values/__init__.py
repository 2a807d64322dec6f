"""What an expression is on one row of the working copy: SQL that cannot fail, together with exact bounds."""
