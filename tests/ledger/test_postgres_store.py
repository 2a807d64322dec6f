"""A ledger in PostgreSQL: what is about the server, its settings and rights, and the wire to it."""

from __future__ import annotations

import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from fractions import Fraction
from pathlib import Path

import psycopg
import pytest

from tacit.errors import LedgerError, ParameterError
from tacit.ledger import Ledger, postgres_store, verify
from tacit.ledger.entry import Entry, Kind
from tacit.ledger.postgres_site import DatabaseSite
from tacit.ledger.postgres_store import PostgresStore
from tacit.loss import Budget
from tacit.loss.filters import Spent
from tests.ledger.cut_wire import CutWire
from tests.ledger.homes import address, opened
from tests.ledger.stores import in_postgres
from tests.ledger.tampering import TENTH, entry_at, run
from tests.postgres_server import Server

pytestmark = in_postgres


@pytest.fixture
def ledger(folder: Path) -> Iterator[Ledger]:
    with opened(folder, budget=Budget(1), patience=20) as opened_ledger:
        yield opened_ledger


def connection(folder: Path) -> PostgresStore:
    """A connection beside the ledger's own."""
    return DatabaseSite(str(address(folder)), 20.0).connect()


def schema_of(folder: Path) -> str:
    return str(address(folder)).rpartition("%3D")[2]


@contextmanager
def setting(server: Server, name: str, value: str) -> Iterator[None]:
    """The whole server runs with this setting, and again without it."""

    def now(change: str, wanted: Callable[[str], bool]) -> None:
        server.sql(change)
        server.sql("SELECT pg_reload_conf()")
        while not wanted(server.sql(f"SHOW {name}")):
            time.sleep(0.01)
        time.sleep(0.1)  # sessions that are open notice a little later

    before = server.sql(f"SHOW {name}")
    now(f"ALTER SYSTEM SET {name} = '{value}'", lambda shown: shown == value)
    try:
        yield
    finally:
        now(f"ALTER SYSTEM RESET {name}", lambda shown: shown == before)


# -- one after another -------------------------------------------------------------------------------------


def test_a_locked_ledger_refuses_and_works_again_when_the_lock_is_gone(folder: Path, ledger: Ledger) -> None:
    other = connection(folder)
    with opened(folder, patience=0.05) as hasty:
        with other.writing(), pytest.raises(LedgerError, match="locked by another process"):
            hasty.charge("ana", "key", "q", TENTH)
        assert not hasty.charge("ana", "key", "q", TENTH).repeated
    other.close()


def test_a_writing_transaction_sees_what_was_committed_while_it_waited(folder: Path, ledger: Ledger) -> None:
    """With a snapshot from before the wait, the second would add to a sum that is no longer the sum."""
    ledger.charge("ana", "first", "q", TENTH)
    other = connection(folder)
    thread = threading.Thread(target=lambda: ledger.charge("ana", "third", "q", TENTH))
    with other.writing():
        thread.start()
        while not run(folder, "SELECT 1 FROM pg_stat_activity WHERE wait_event = 'advisory'"):
            time.sleep(0.01)
        content = entry_at(folder, 2).details
        content["cost"]["dataset"]["loss"], content["spent"]["dataset"]["loss"] = "4/5", "9/10"
        other.append(Entry.after(other.last(), Kind.CHARGED, content, "ana", "second"))
    thread.join(30)
    other.close()
    assert ledger.spent() == Spent(Fraction(1))
    assert [entry.key for entry in ledger.entries()] == [None, "first", "second", "third"]
    assert ledger.verify().sound


def test_two_that_go_round_the_lock_cannot_both_follow_the_same_entry(folder: Path, ledger: Ledger) -> None:
    """The lock is for order. What keeps two hosts from spending the same budget is the primary key."""
    ledger.charge("ana", "key", "q", TENTH)
    first, second = connection(folder), connection(folder)
    second.lock = first.lock + 1
    failures: list[BaseException] = []

    def forge(store: PostgresStore, key: str) -> Entry:
        last = store.last()
        assert last is not None
        return Entry.after(last, Kind.CHARGED, last.details, "ana", key)

    def late() -> None:
        try:
            with second.writing():
                second.append(forge(second, "late"))
        except psycopg.Error as failure:
            failures.append(failure)

    thread = threading.Thread(target=late)
    with first.writing():
        first.append(forge(first, "early"))
        first._send()
        thread.start()
        while not run(folder, "SELECT 1 FROM pg_stat_activity WHERE wait_event = 'transactionid'"):
            time.sleep(0.01)
    thread.join(30)
    assert isinstance(failures[0], psycopg.errors.UniqueViolation)
    assert run(folder, "SELECT key FROM entries WHERE sequence > 2") == [("early",)]
    first.close()
    second.close()


def test_a_host_that_vanishes_with_the_lock_does_not_hold_up_the_others(
    folder: Path, ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(postgres_store, "ABANDONED", 0.2)
    lost = connection(folder)

    def vanish() -> None:
        with lost.writing():
            ledger.charge("ana", "key", "q", TENTH)
            lost.at(1)

    with pytest.raises(psycopg.errors.IdleInTransactionSessionTimeout):
        vanish()
    lost.close()
    assert ledger.spent() == Spent(Fraction(1, 10))


# -- durable -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["fsync", "full_page_writes"])
def test_a_server_that_forgets_when_the_power_fails_is_refused(
    folder: Path, ledger: Ledger, postgres: Server, name: str
) -> None:
    with setting(postgres, name, "off"):
        with pytest.raises(LedgerError, match=f"needs a server with {name} = on. Found off"):
            ledger.charge("ana", "key", "q", TENTH)
        other = Path(tempfile.mkdtemp(dir=folder))
        with pytest.raises(LedgerError, match=f"{name} = on"):
            Ledger.open(postgres.url(), head=other / "head", budget=Budget(1))
    assert not ledger.charge("ana", "key", "q", TENTH).repeated


@pytest.mark.parametrize(("given", "used"), [("off", "on"), ("local", "on"), ("remote_apply", "remote_apply")])
def test_a_commit_waits_for_the_disk_whatever_the_role_is_set_to(
    folder: Path, ledger: Ledger, given: str, used: str
) -> None:
    eager = DatabaseSite(str(address(folder)) + f"%20-csynchronous_commit%3D{given}", 20.0).connect()
    assert eager._one("SHOW synchronous_commit") == (given,)
    with eager.writing():
        assert eager._one("SHOW synchronous_commit") == (used,)
    eager.close()


def test_a_commit_that_did_not_reach_its_standby_is_not_acknowledged_and_stays_spent(
    folder: Path, ledger: Ledger, postgres: Server
) -> None:
    with setting(postgres, "synchronous_standby_names", "nobody"):

        def cut_the_wait_short() -> None:
            waiting = "SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE wait_event = 'SyncRep'"
            while not postgres.sql(waiting):
                time.sleep(0.01)

        impatient = threading.Thread(target=cut_the_wait_short)
        impatient.start()
        with pytest.raises(LedgerError, match="canceling wait for synchronous replication"):
            ledger.charge("ana", "key", "q", TENTH)
        impatient.join(30)
    assert ledger.charge("ana", "key", "q", TENTH).repeated
    assert ledger.spent() == Spent(Fraction(1, 10))


def test_a_commit_that_answers_rollback_is_a_failure(folder: Path, ledger: Ledger) -> None:
    def spoiled() -> None:
        with store.writing():
            store.append(Entry.after(store.last(), Kind.CHARGED, {}, "ana", "key"))
            store._send()
            with pytest.raises(psycopg.Error):
                store._do("SELECT 1 / 0")

    store = connection(folder)
    with pytest.raises(LedgerError, match="the commit ended with ROLLBACK"):
        spoiled()
    store.close()
    assert len(ledger.entries()) == 1


def test_what_another_host_wrote_is_flushed_before_the_head_speaks_of_it(
    folder: Path, ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    with opened(folder) as other, monkeypatch.context() as patch:
        patch.setattr(other._vault.head, "advance", lambda *given: (_ for _ in ()).throw(KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            other.charge("ana", "key", "q", TENTH)
    order: list[str] = []
    real_sync, real_advance = PostgresStore.sync, ledger._vault.head.advance
    monkeypatch.setattr(PostgresStore, "sync", lambda store: (order.append("flush"), real_sync(store)))
    monkeypatch.setattr(ledger._vault.head, "advance", lambda *given: (order.append("head"), real_advance(*given)))
    before = run(folder, "SELECT pg_current_wal_flush_lsn()::text")
    assert ledger.charge("ana", "key", "q", TENTH).repeated
    assert order == ["flush", "head"]
    assert run(folder, "SELECT pg_current_wal_flush_lsn()::text") != before


# -- the wire ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("pass_on", [False, True])
def test_a_wire_cut_at_any_message_refuses_or_wastes_but_never_hides(
    folder: Path, postgres: Server, pass_on: bool
) -> None:
    opened(folder, budget=Budget(10)).close()
    with CutWire(folder, postgres.folder) as wire:
        through = str(address(folder)).replace(str(postgres.folder), str(folder))
        cuts = wasted = 0
        with Ledger.open(through, head=folder / "head") as ledger:
            for number in range(1, 100):
                key = f"{number}"
                wire.cut_at(number, pass_on=pass_on)
                try:
                    ledger.charge("ana", key, "q", TENTH)
                    acknowledged = True
                except LedgerError:
                    acknowledged = False
                was_cut = wire.cut
                wire.mend()
                with closing(connection(folder)) as settled, settled.writing():
                    pass  # the server may still be at the commit that was sent: it has the lock until it is done
                kept = bool(run(folder, f"SELECT 1 FROM entries WHERE key = '{key}'"))
                cuts, wasted = cuts + was_cut, wasted + (kept and not acknowledged)
                assert kept or not acknowledged
                assert acknowledged or was_cut
                if not was_cut:
                    break
                if acknowledged:  # the last message arrived before the cut, which may be noticed only by the next use
                    with suppress(LedgerError):
                        ledger.spent()
                assert ledger.charge("ana", key, "q", TENTH).repeated == kept
            assert ledger.spent() == Spent(Fraction(number, 10))
            assert ledger.verify().sound
    assert cuts >= 14
    assert wasted <= 3  # charges kept without an answer: at the commit, and at most a message around it


def test_a_server_that_was_stopped_and_started_between_two_questions_is_not_noticed(
    ledger: Ledger, postgres: Server
) -> None:
    ledger.charge("ana", "before", "q", TENTH)
    postgres.stop(immediate=True)
    with pytest.raises(LedgerError, match=r"failed: .*Nothing was released"):
        ledger.charge("ana", "meanwhile", "q", TENTH)
    postgres.start()
    ledger.charge("ana", "after", "q", TENTH)
    postgres.stop()
    postgres.start()
    ledger.charge("ana", "after again", "q", TENTH)
    assert [entry.key for entry in ledger.entries()] == [None, "before", "after", "after again"]


# -- rights and layout -----------------------------------------------------------------------------------------


@pytest.fixture
def writer(folder: Path, ledger: Ledger, postgres: Server) -> Iterator[Callable[[str], Path]]:
    """Makes a role with these rights on the table; gives a folder with its address."""
    made: list[str] = []

    def make(rights: str) -> Path:
        role = f"writer_{schema_of(folder)}"
        made.append(role)
        schema = schema_of(folder)
        run(
            folder,
            f"CREATE ROLE {role} LOGIN",
            f"GRANT USAGE ON SCHEMA {schema} TO {role}",
            f"GRANT {rights} ON {schema}.tacit_entries TO {role}",
        )
        (folder / "address").write_text(str(address(folder)).replace("postgres@", f"{role}@"))
        return folder

    yield make
    for role in made:
        postgres.sql(f"DROP OWNED BY {role}", "ledgers")
        postgres.sql(f"DROP ROLE {role}")


def test_a_role_needs_no_more_than_to_read_and_insert(
    folder: Path, ledger: Ledger, writer: Callable[[str], Path]
) -> None:
    with opened(writer("SELECT, INSERT")) as own:
        receipt = own.charge("ana", "key", "q", TENTH)
        own.store_answer(receipt, b"answer")
        (folder / "head").write_bytes((folder / "head").read_bytes())
        own._vault.connect().sync()
        assert own.verify().sound
    for statement in ("UPDATE entries SET key = 'x'", "DELETE FROM entries", "TRUNCATE entries"):
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            run(folder, statement.replace("TRUNCATE entries", "TRUNCATE tacit_entries"))


def test_a_role_that_may_only_read_can_look_but_not_charge(ledger: Ledger, writer: Callable[[str], Path]) -> None:
    ledger.charge("ana", "before", "q", TENTH)
    with opened(writer("SELECT")) as frozen:
        assert frozen.spent() == Spent(Fraction(1, 10))
        with pytest.raises(LedgerError, match="permission denied for table tacit_entries"):
            frozen.charge("ana", "key", "q", TENTH)


@pytest.mark.parametrize(
    ("statement", "reason"),
    [
        ("UPDATE tacit_entries SET analyst = 'bo'", "never changed"),
        ("UPDATE tacit_entries SET analyst = 'bo' WHERE false", "never changed"),
        ("DELETE FROM tacit_entries WHERE sequence = 2", "never changed or removed"),
        ("TRUNCATE tacit_entries", "never changed or removed"),
        (
            "INSERT INTO tacit_entries SELECT * FROM tacit_entries WHERE sequence = 1 ON CONFLICT (sequence) "
            "DO UPDATE SET key = 'x'",
            "never changed",
        ),
        ("INSERT INTO tacit_entries VALUES (9, 'charged', '', 'a', 'x', '{}', 'no', 'h', NULL)", "follows"),
        ("INSERT INTO tacit_entries VALUES (3, 'charged', '', 'a', 'x', '{}', 'no', 'h', NULL)", "follows"),
    ],
)
def test_the_triggers_refuse_to_change_remove_or_insert_out_of_order(
    folder: Path, ledger: Ledger, statement: str, reason: str
) -> None:
    ledger.charge("ana", "key", "q", TENTH)
    with pytest.raises(psycopg.errors.RaiseException, match=reason):
        run(folder, statement)
    assert ledger.verify().sound


@pytest.mark.parametrize(
    "statement",
    [
        "DROP TRIGGER tacit_entries_stay ON tacit_entries",
        "ALTER TABLE tacit_entries DISABLE TRIGGER tacit_entries_follow",
        "CREATE OR REPLACE FUNCTION tacit_entry_stays() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END'",
        "CREATE TRIGGER another AFTER INSERT ON tacit_entries FOR EACH ROW EXECUTE FUNCTION tacit_entry_follows()",
        "DROP INDEX tacit_one_of_each_kind_per_key",
        "ALTER TABLE tacit_entries ADD COLUMN another text",
        'ALTER TABLE tacit_entries ALTER COLUMN key TYPE text COLLATE "default"',
        "ALTER TABLE tacit_entries ALTER COLUMN hash DROP NOT NULL",
        "ALTER TABLE tacit_entries DROP CONSTRAINT tacit_entries_pkey",
        "ALTER TABLE tacit_entries ADD CHECK (sequence < 100)",
        "ALTER TABLE tacit_entries SET UNLOGGED",
        "ALTER TABLE tacit_entries ENABLE ROW LEVEL SECURITY",
        "CREATE RULE quiet AS ON INSERT TO tacit_entries DO INSTEAD NOTHING",
        "CREATE TABLE child () INHERITS (tacit_entries)",
    ],
)
def test_a_changed_layout_is_noticed(folder: Path, ledger: Ledger, statement: str) -> None:
    run(folder, statement)
    with pytest.raises(LedgerError, match="tables or triggers were changed"):
        opened(folder)


@pytest.mark.parametrize(
    ("comment", "words"), [("NULL", "is not a ledger"), ("'tacit ledger, format 2'", "this version reads")]
)
def test_a_table_of_another_kind_is_noticed(folder: Path, ledger: Ledger, comment: str, words: str) -> None:
    run(folder, f"COMMENT ON TABLE tacit_entries IS {comment}")
    with pytest.raises(LedgerError, match=words):
        opened(folder)


def test_the_statements_in_the_documentation_lay_out_a_ledger(folder: Path) -> None:
    page = (Path(__file__).resolve().parents[2] / "docs" / "ledger.md").read_text()
    layout = page.partition("```postgresql\n")[2].partition("```")[0]
    rights = page.partition("```sql\n")[2].partition("```")[0]
    schema = schema_of(folder)
    run(folder, "CREATE ROLE tacit_charges LOGIN", layout.replace("clinic", schema), rights.replace("clinic", schema))
    (folder / "address").write_text(str(address(folder)).replace("postgres@", "tacit_charges@"))
    with opened(folder, budget=Budget(1)) as ledger:
        ledger.charge("ana", "key", "q", TENTH)
        assert ledger.verify().sound
    (folder / "address").write_text(str(address(folder)).replace("tacit_charges@", "postgres@"))
    run(folder, "DROP OWNED BY tacit_charges", "DROP ROLE tacit_charges")


# -- the address ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "given", ["postgresql://ana:secret@[::1/clinic", "postgresql://ana:secret@127.0.0.1:1/clinic?connect_timeout=2"]
)
def test_a_password_is_never_told(folder: Path, given: str) -> None:
    with pytest.raises((LedgerError, ParameterError)) as refusal:
        Ledger.open(given, head=folder / "head", budget=Budget(1))
    assert "secret" not in str(refusal.value)
    assert refusal.value.__cause__ is None
    assert not verify(given.replace("[::1", "127.0.0.1:1"), head=folder / "head").sound


def test_a_ledger_shows_its_host_and_database_only(ledger: Ledger, postgres: Server) -> None:
    assert repr(ledger) == f"Ledger('postgresql://{postgres.folder}/ledgers', budget=Budget(epsilon=1))"


def test_a_database_that_cannot_hold_every_text_is_refused(folder: Path, postgres: Server) -> None:
    postgres.sql("CREATE DATABASE latin ENCODING 'LATIN1' TEMPLATE template0")
    with pytest.raises(LedgerError, match=r"encoding UTF8\. Found LATIN1"):
        Ledger.open(postgres.url("latin"), head=folder / "head", budget=Budget(1))
    postgres.drop("latin")


def test_a_search_path_without_a_schema_is_refused(folder: Path, database: str) -> None:
    with pytest.raises(LedgerError, match="names none that exists"):
        Ledger.open(f"{database}&options=-csearch_path%3Dnowhere", head=folder / "head", budget=Budget(1))


def test_a_schema_may_have_any_name(folder: Path, database: str) -> None:
    run(folder, 'CREATE SCHEMA "Odd ""name"""')
    with Ledger.open(
        f"{database}&options=-csearch_path%3D%22Odd%5C%20%22%22name%22%22%22", head=folder / "head", budget=Budget(1)
    ) as ledger:
        ledger.charge("ana", "key", "q", TENTH)
        assert ledger.verify().sound
    run(folder, 'DROP SCHEMA "Odd ""name""" CASCADE')


def test_without_psycopg_the_refusal_says_how_to_get_it(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "tacit.ledger.postgres_site", raising=False)
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(LedgerError, match=r'pip install "tacit\[postgres\]"'):
        Ledger.open("postgresql:///clinic", head=folder / "head", budget=Budget(1))
