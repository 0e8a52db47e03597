"""The errors: `memctl.errors.kinds`, loaded when the first one is named.

Making its eighty classes costs 2 ms, and most commands end without one.
"""

from memctl.annotations import TYPE_CHECKING

if TYPE_CHECKING:
    from memctl.errors.kinds import *  # noqa: F403
else:

    def __getattr__(name: str) -> object:
        if name.startswith("_"):
            raise AttributeError(name)
        import memctl.errors.kinds as every

        globals().update((key, value) for key, value in vars(every).items() if isinstance(value, type))
        return getattr(every, name)
