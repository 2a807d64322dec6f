"""The console: the server's pages for people. HTML from templates, one style sheet, one optional script.

    sessions  who is logged in: a cookie that says nothing, and its meaning, kept here
    pages     what each page shows, for one seat
    drawn     released numbers as drawings that a strict content security policy lets through
    routes    the pages of the table, behind log-in, with forms that only our own pages can send

No page asks anything outside the server, and every flow works without the script.
"""
