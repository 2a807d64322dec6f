"""Statistics that are not one SQL question: each study takes rows of a curator, or arrays, and gives a `Finding`.

    ages = clinic.rows("SELECT age FROM visits", rows_per_unit=1)     # free: no row is read
    finding = statistics.median(ages, epsilon=0.5)                    # charged to the clinic's ledger
    finding = statistics.median(array, bounds=(0, 110), epsilon=0.5)  # arrays: the receipt says what it cost

A study is written once, for both (`source`), pays before it sees an exact number, and says which data are neighbours.
"""

from tacit.statistics.finding import Column, Content, Finding

__all__ = ["Column", "Content", "Finding"]
