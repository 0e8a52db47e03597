"""One memory on many machines: an append-only log of what was said, kept by something that people run already.

`merge` is the rules, without files and database. `segments` is what a log is made of, `sealing` signs and encrypts it,
`anew` writes it once more. `exchange` brings a store and a remote together, with `stock` (rows to states),
`known_again` (what a remote that is added again knows) and `arrival` (states to rows); `state` tells how far both sides
are. `folder`, `git`, `postgres` and `objects` carry logs and understand nothing of them: each is a `carrier`, and
`places` knows which one a URL means.
"""
