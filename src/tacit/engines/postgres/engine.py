"""The PostgreSQL engine: a bounded working copy in a schema of the database, and pushed-down queries on it.

Promise: that of `engine`. Each question is one read-only transaction with a time limit, run as the role `tacit_reader`
where the owner made it; one that exists and cannot be taken is refused, with what to grant. The server's messages are
never shown: any failure after the charge is the one fixed `EngineError`. A question's first statement locks the tables
of the very copy that was registered, and keeps them until the end: a copy built anew under other bounds has another
name, so it is never read for a plan that was made for these.

What is certain to fail is reported when the policy is opened: one row of every table is read then, as questions will
read it.

Without a copy (`working_copy = "query"`, for databases that may only be read) the copy's own SELECT is put in front of
every query, and the rows are the present ones: the same rule bounds contributions.
"""

from __future__ import annotations

import secrets
import weakref
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from decimal import Decimal
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from sqlglot import exp

from tacit.engines.dialects import Place, text
from tacit.engines.duckdb.working_copy import Progress
from tacit.engines.engine import Pushed, Run
from tacit.engines.exact import Exact
from tacit.engines.postgres import copy as postgres_copy
from tacit.engines.postgres import sources as postgres_sources
from tacit.engines.postgres.additive import less_cut
from tacit.engines.postgres.connection import address_of, connect, library
from tacit.engines.postgres.copy import FRESH, KEY, Copy, PostgresFlavour
from tacit.engines.postgres.opening import letters_of, readable, role_of
from tacit.engines.postgres.session import Fetched, Session
from tacit.engines.postgres.sparing import Sparing, sparing_copy_of
from tacit.engines.process import FAILED, Limits
from tacit.engines.quoting import identifier
from tacit.engines.registration import copy_of
from tacit.engines.secret import Secret
from tacit.engines.sources import Relation
from tacit.errors import EngineError
from tacit.plan.sources.scope import COPY, RANK
from tacit.policy.check import Schema, check
from tacit.policy.policy import Policy

if TYPE_CHECKING:
    import psycopg

_TRIES: Final = 10
_CUT: Final = "tacit_cut"

QUERY: Final = "query"
"""What `working_copy` says where no copy is wanted."""

_RANK_KEY: Final = f"convert_to(current_setting('{KEY}'), 'UTF8')"


@dataclass(frozen=True, slots=True)
class Registered:
    """What a registration found: the copy, or each table's own SELECT in place of one.

    `token` marks answers that hold for this registration alone, where a change of the sources would not be noticed.
    """

    schema: Schema
    letters: str
    copy: Copy | None = None
    role: str | None = None
    structure: str = ""
    selects: Mapping[str, str] = field(default_factory=dict)
    sparing: Mapping[str, Sparing] = field(default_factory=dict)
    probes: Mapping[str, str] = field(default_factory=dict)
    key: str | None = field(default=None, repr=False)
    token: str = ""


class PostgresEngine:
    """The tables of one policy, ready to be asked. Close it when done, or use it in a `with` statement."""

    def __init__(self, policy: Policy, address: str, found: Registered, limits: Limits) -> None:
        self._policy = policy
        self._found = found
        hold = "SELECT 1" if found.copy is None else _lock(found.copy, policy)
        self._session = Session(address, limits, found.role, prepare=partial(_prepare, found), hold=hold)
        self._end = weakref.finalize(self, self._session.close)

    @classmethod
    def register(
        cls,
        policy: Policy,
        secret: Secret | None = None,
        *,
        limits: Limits | None = None,
        progress: Progress | None = None,
        anew: bool = False,
    ) -> PostgresEngine:
        """The engine over a current working copy, which is built when there is none, or `anew`.

        `secret` is for tests that want the same ranks twice; otherwise the server makes one.
        """
        address = address_of(policy)
        psycopg = library()
        limits = Limits() if limits is None else limits
        try:
            with connect(address) as connection:
                for _ in range(_TRIES):  # a copy may be removed by another opening before it is marked as used
                    found = _registered(connection, policy, secret, progress, anew)
                    engine = cls(policy, address, found, limits)
                    if engine._reads():
                        return engine
        except psycopg.Error:
            raise EngineError("The PostgreSQL database refused what a registration needs, or went away.") from None
        raise EngineError("The working copy was removed by other openings while it was opened. Try again.")

    def _reads(self) -> bool:
        """Whether the copy still exists; refused where a table cannot be read as questions will read it."""
        try:
            found = self._found
            there = self._session.look(lambda there: readable(there, self._policy, found.copy, found.probes))
        except BaseException:
            self.close()
            raise
        if not there:
            self.close()
        return there

    def schema(self) -> Schema:
        """Names and kinds of the columns of each table's source."""
        return self._found.schema

    def fingerprint(self) -> str:
        """A digest that changes when the server has noticed a change of a source."""
        seen = self._session.look(lambda connection: postgres_sources.fingerprint(connection, self._policy))
        return f"{seen}{self._found.token}"

    def is_stale(self) -> bool:
        """Whether a source changed, as far as the server has noticed, or another process built the copy anew.

        Without a copy the present rows are read: then only a change of columns makes it stale.
        """
        found, policy = self._found, self._policy
        if found.copy is None:
            return self._session.look(lambda there: postgres_sources.structure(there, policy)) != found.structure
        copy = found.copy
        return not self._session.look(lambda there: postgres_copy.is_current(there, policy, copy))

    def expect(self, query: Pushed) -> None:
        """Nothing is done before a query is paid for."""

    def run(self, query: Pushed) -> Exact:
        """The exact result of a query that has been paid for."""
        if self._found.copy is not None:
            return _exact(query, self._session.ask(self._text(query.ast)))
        with self.moment() as run:
            return run(query)

    @contextmanager
    def moment(self) -> Iterator[Run]:
        """Runs queries that all see the rows of one moment: those of the copy, or those of the tables as they are.

        A copy does not change, but another opening may put a new one in its place and remove it: the moment's one
        transaction holds it until the last query.
        """
        with self._session.moment() as ask:
            yield lambda query: _exact(query, ask(self._text(query.ast)))

    def widen(self, workers: int) -> None:
        """Does nothing: one session answers one query at a time."""

    def close(self) -> None:
        """Close the connection. The copy stays for the next time."""
        self._end()

    def __enter__(self) -> PostgresEngine:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _text(self, query: exp.Expr) -> str:
        if self._found.copy is not None:
            return text(query, "postgres", Place(self._found.copy.schema, self._found.letters))
        used = Counter(table.name for table in query.find_all(exp.Table) if table.db == COPY)
        names = {name: f"tacit_copy_{place}" for place, name in enumerate(self._found.selects) if name in used}
        # whether ranks are needed is decided for the whole question: one mention is enough
        ranked = any(column.name == RANK for column in query.find_all(exp.Column))
        sparing = {} if ranked else {name: each for name, each in self._found.sparing.items() if name in used}
        if len(used) == len(sparing) == 1 and (sums := less_cut(query, _CUT)) is not None:
            ((name, parts),) = sparing.items()
            written = text(sums, "postgres", Place(letters=self._found.letters, queries=names))
            return (
                f"WITH tacit_many AS MATERIALIZED ({parts.many}), {identifier(names[name])} AS ({parts.every}), "
                f"{identifier(_CUT)} AS ({parts.cut()}) {written}"
            )
        written = text(query, "postgres", Place(letters=self._found.letters, queries=names))
        selects = {**self._found.selects, **{name: each.copy() for name, each in sparing.items()}}
        # Computed once, because a query that reads a table twice must see the same rows, ranks and units both times;
        # put into the query itself, which saves writing all rows, where it plainly occurs only once.
        asks_inside = any(each.args.get("query") for each in query.find_all(exp.In))
        several = sum(used.values()) > 1 or any(query.find_all(exp.Join, exp.Exists, exp.Values, exp.With))
        alone = not several and not asks_inside
        how = "NOT MATERIALIZED" if alone else "MATERIALIZED"
        rows = ", ".join(f"{identifier(names[name])} AS {how} ({selects[name]})" for name in names)
        more = written.startswith("WITH ")
        return f"WITH {rows}, {written.removeprefix('WITH ')}" if more else f"WITH {rows} {written}"


def _exact(query: Pushed, result: Fetched) -> Exact:
    try:
        keys = [_column(result, name) for name in query.key_columns]
        cells = [tuple(map(_key, row)) for row in zip(*keys, strict=True)] if keys else [()] * len(result.rows)
        measures = {name: list(map(_measure, _column(result, name))) for name in query.measure_columns}
        return Exact(cells, measures)
    except (LookupError, TypeError, ValueError, ArithmeticError, MemoryError):
        pass
    raise EngineError(FAILED)  # outside the handler: an exception keeps the one that was being handled


def _registered(
    connection: psycopg.Connection[Any], policy: Policy, secret: Secret | None, progress: Progress | None, anew: bool
) -> Registered:
    if policy.working_copy == QUERY:
        return _without_copy(connection, policy, secret)
    return _with_copy(connection, policy, secret, progress, anew)


def _with_copy(
    connection: psycopg.Connection[Any], policy: Policy, secret: Secret | None, progress: Progress | None, anew: bool
) -> Registered:
    role = role_of(connection)
    since = postgres_copy.now(connection)
    copy = None if anew else postgres_copy.current(connection, policy, since)
    if copy is None:
        copy, schema = postgres_copy.build(connection, policy, secret, progress, since, anew=anew)
    else:
        schema = postgres_sources.schema_of(postgres_sources.relations_of(connection, policy))
        postgres_copy.remove_others(connection, policy, copy, also_used=False)
    token = "" if postgres_sources.is_watched(connection, policy) else copy.schema
    return Registered(schema, letters_of(connection), copy, role, token=token)


def _without_copy(connection: psycopg.Connection[Any], policy: Policy, secret: Secret | None) -> Registered:
    postgres_copy.prefix(policy)
    relations = postgres_sources.relations_of(connection, policy)
    schema = postgres_sources.schema_of(relations)
    check(policy, schema)
    postgres_sources.refuse_far_floats(connection, policy, relations)
    flavour, long_keys = PostgresFlavour(_RANK_KEY), PostgresFlavour(_RANK_KEY, short=False)
    spared = partial(
        sparing_copy_of,
        policy,
        relations=relations,
        flavour=flavour,
        hashed=flavour.hashed,
        long_keys=long_keys,
    )
    # the same for one row of each table
    first = {name: Relation(f"(SELECT * FROM {each.sql} LIMIT 1)", each.types) for name, each in relations.items()}  # noqa: S608
    return Registered(
        schema,
        letters_of(connection),
        role=role_of(connection),
        structure=postgres_sources.structure(connection, policy),
        selects={name: copy_of(policy, name, relations, flavour, dense=False) for name in policy.tables},
        sparing={name: found for name in policy.tables if (found := spared(name))},
        probes={name: copy_of(policy, name, first, flavour, dense=False) for name in policy.tables},
        key=None if secret is None else secret.key_for("ranks"),
        token="" if postgres_sources.is_watched(connection, policy) else secrets.token_hex(16),
    )


def _prepare(found: Registered, connection: psycopg.Connection[Any]) -> None:
    """What a connection needs in addition to its settings: the copy marked as used, or the key of the ranks."""
    if found.copy is not None:
        postgres_copy.use(connection, found.copy)
    elif found.key is not None:
        connection.execute("SELECT set_config(%s, %s, false)", (KEY, found.key))
    else:  # made where it is used, so it is in no statement, no parameter and no result
        connection.execute(f"SELECT set_config('{KEY}', encode({FRESH}, 'hex'), false) IS NULL")


def _lock(copy: Copy, policy: Policy) -> str:
    names = ", ".join(identifier(copy.schema, name) for name in sorted(policy.tables, key=str.encode))
    return f"LOCK TABLE {names} IN ACCESS SHARE MODE"


def _column(result: Fetched, name: str) -> list[Any]:
    place = result.names.index(name)
    return [row[place] for row in result.rows]


def _key(value: Any) -> int | str | None:
    return value if value is None or isinstance(value, str) else _whole(value)


def _measure(value: Any) -> int:
    # The sum of no values is NULL in SQL and 0 here.
    return 0 if value is None else _whole(value)


def _whole(value: Any) -> int:
    if isinstance(value, (bool, int)):
        return int(value)
    if isinstance(value, Decimal):
        numerator, denominator = value.as_integer_ratio()
        if denominator == 1:
            return numerator
    raise TypeError("a whole number is wanted")
