"""`tacit completion bash | zsh | fish`: a script that completes commands and options.

Promise: made from the commands themselves, so that none is missing. Only the script runs: pressing the tab key starts
no Python, reads no policy and opens no ledger. Where a file is expected the shell completes files.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any, Final

import typer

_BASH: Final = """\
_tacit() {{
    local word="${{COMP_WORDS[COMP_CWORD]}}" path="tacit" each
    for each in "${{COMP_WORDS[@]:1:COMP_CWORD-1}}"; do
        case "$path $each" in
            {paths}) path="$path $each" ;;
        esac
    done
    local words=""
    case "${{COMP_WORDS[COMP_CWORD-1]}}" in
{choices}
    esac
    if [ -z "$words" ]; then
        case "$path" in
{cases}
        esac
        case "$word" in -*) ;; *) case "$path" in {takes}) COMPREPLY=($(compgen -f -- "$word")) ;; esac ;; esac
    fi
    COMPREPLY+=($(compgen -W "$words" -- "$word"))
}}
complete -o filenames -F _tacit tacit
"""


def completion(
    shell: Annotated[str, typer.Argument(metavar="bash|zsh|fish", help="The shell to complete for.")],
    ctx: typer.Context,
) -> None:
    """Complete commands with the tab key.  eval "$(tacit completion bash)"

    Put that line into ~/.bashrc, or eval "$(tacit completion zsh)" into ~/.zshrc; for fish:
    tacit completion fish > ~/.config/fish/completions/tacit.fish
    """
    writers = {"bash": _bash, "zsh": _zsh, "fish": _fish}
    if shell not in writers:
        raise typer.BadParameter(f"There is no completion for {shell!r}. Shells: {', '.join(writers)}.")
    typer.echo(writers[shell](dict(_walk(ctx.find_root().command, ("tacit",)))), nl=False)


def _walk(command: Any, path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Every command with the words that lead to it."""
    yield path, command
    for name, inner in sorted(getattr(command, "commands", {}).items()):
        if not inner.hidden:
            yield from _walk(inner, (*path, name))


def _options(command: Any) -> list[Any]:
    return [each for each in command.params if each.param_type_name == "option" and not each.hidden]


def _words(command: Any) -> list[str]:
    """What may come next: the commands inside, and the options."""
    inner = sorted(name for name, each in getattr(command, "commands", {}).items() if not each.hidden)
    return [*inner, *(name for each in _options(command) for name in each.opts if name.startswith("--")), "--help"]


def _choices(commands: Any) -> dict[str, str]:
    """The values that may follow an option with few values."""
    found = {}
    for command in commands:
        for each in _options(command):
            if "|" in (each.metavar or ""):
                found[each.opts[0]] = " ".join(each.metavar.split("|"))
    return found


def _bash(tree: dict[tuple[str, ...], Any]) -> str:
    paths = "|".join(f'"{" ".join(path)}"' for path in tree if len(path) > 1)
    takes = "|".join(
        f'"{" ".join(path)}"'
        for path, command in tree.items()
        if any(each.param_type_name == "argument" for each in command.params) or path[1:] in (("ledger",), ("audit",))
    )
    lists = {" ".join(path): " ".join(_words(each)) for path, each in tree.items()}
    cases = "\n".join(f'            "{path}") words="{words}" ;;' for path, words in lists.items())
    choices = "\n".join(f'        {name}) words="{values}" ;;' for name, values in _choices(tree.values()).items())
    return _BASH.format(paths=paths, cases=cases, choices=choices, takes=takes)


def _zsh(tree: dict[tuple[str, ...], Any]) -> str:
    return "autoload -U +X compinit && compinit\nautoload -U +X bashcompinit && bashcompinit\n" + _bash(tree)


def _fish(tree: dict[tuple[str, ...], Any]) -> str:
    lines = []
    choices = _choices(tree.values())
    for path, command in tree.items():
        inner = sorted(name for name, each in getattr(command, "commands", {}).items() if not each.hidden)
        seen = [f"__fish_seen_subcommand_from {word}" for word in path[1:]]
        here = "; and ".join(seen) or "__fish_use_subcommand"
        if inner:
            lines.append(f'complete -c tacit -n "{here}" -a "{" ".join(inner)}"')
        for option in _options(command):
            name = option.opts[0].removeprefix("--")
            values = f' -x -a "{choices[option.opts[0]]}"' if option.opts[0] in choices else ""
            lines.append(f'complete -c tacit -n "{here}" -l {name}{values}')
    return "\n".join(lines) + "\n"
