"""The report's chapter on paper 2: what its stages left in a workspace, as tables and figures.

``shelves`` what one output is, and what compares with it · ``filed`` outputs of the user's files · ``columns`` how
figures are written · ``kinds`` the tables of one stage each · ``run_settings`` and ``runs`` runs of optimisation, in
what they differ and which compare · ``run_tables`` their tables · ``tables`` and ``figures`` all of them · ``chapter``
the chapter itself.
"""
