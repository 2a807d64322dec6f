"""What an expression is on one row of the working copy: SQL that cannot fail, with exact bounds beside it."""
