"""What is done to the question itself, before there is a draft: `make.REWRITES`, one file each."""
