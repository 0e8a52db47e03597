# The shortcuts meminit, memq, memp and mempull (docs/shell.md). Source it from .bashrc, .zshrc or a project's env.sh.
eval "$(_memctl_shell=${BASH_VERSION:+bash}${ZSH_VERSION:+zsh} && memctl shell-init "${_memctl_shell:-sh}")"
