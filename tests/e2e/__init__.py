"""The program as its users meet it: ``python -m ccfw`` in a process of its own, over real HTTP."""
