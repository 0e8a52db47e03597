"""Parameters that several operations take in the same words."""

from memctl.annotations import Annotated
from memctl.operation import Arg

Budget = Annotated[
    int,
    Arg("tokens of the whole block", "--budget", env="MEMCTL_BUDGET", config="recall.budget_tokens", ge=1, le=10**6),
]
