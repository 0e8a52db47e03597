"""One memory on many machines: an append-only log of what was said, kept by something that people run already.

`merge` is the rules, without a file or a database; `segments` is what a log is made of; `exchange` brings a store and a
remote together; `folder`, `git`, `postgres` and `objects` carry
logs and understand nothing of them.
"""
