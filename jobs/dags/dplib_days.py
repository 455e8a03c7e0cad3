"""Which day a run releases, and whether it may.

The day is the run's logical date in the schedule's time zone: the first day of the period that the run stands for. A
day that is not over yet would be released without its last rows, and for good, since the next run of the same day
returns the release that exists; so would a day in the middle of a week, which is no week's release. Both are refused.
"""

import datetime as dt
from collections.abc import Iterator, Sequence
from zoneinfo import ZoneInfo

from croniter import croniter
from dplib_schedules import Schedule


class DayError(ValueError):
    """A run stands for no day that can be released: one sentence."""


def day_of(schedule: Schedule, logical_date: dt.datetime | None) -> dt.date:
    """The day that a run releases.

    Args:
        schedule: of the run.
        logical_date: of the run, with a time zone; None where it was triggered without.

    Raises:
        DayError: if the run has no logical date.
    """
    if logical_date is None:
        raise DayError("the run must have a logical date, which is the day to release, got none")
    return logical_date.astimezone(ZoneInfo(schedule.timezone)).date()


def check_day(schedule: Schedule, day: dt.date, now: dt.datetime) -> None:
    """Refuse a day that begins no period of the schedule, or one whose period is not over.

    Args:
        schedule: of the run.
        day: to be released.
        now: the time, with a time zone.

    Raises:
        DayError: saying which.
    """
    begin, following = period_of(schedule, day)
    if begin.date() != day:
        raise DayError(f"the logical date must be a first day of the schedule {schedule.schedule}, got {day}")
    end = moment(following, ZoneInfo(schedule.timezone))
    if now < end:
        raise DayError(f"the logical date must be a day whose period is over (from {end} on), got {day}")


def check_horizon(schedule: Schedule, horizon: Sequence[str] | None) -> None:
    """Refuse an entry that does not agree with its configuration about a stream and its days.

    Args:
        schedule: of the run.
        horizon: first and last day of the configuration's section stream, ISO 8601; None where it has none.

    Raises:
        DayError: saying in what.
    """
    if (horizon is not None) != schedule.stream:
        wanted, has = ("false", "no") if horizon is None else ("true", "a")
        given = str(schedule.stream).lower()
        raise DayError(
            f"stream of the entry {schedule.name} must be {wanted}, since {schedule.config} has {has} section stream, "
            f"got {given}"
        )
    for name, day in (("start_date", schedule.start_date), ("end_date", schedule.end_date)):
        if horizon is not None and not horizon[0] <= str(day) <= horizon[1]:
            raise DayError(f"{name} must be a day of the stream's horizon, {horizon[0]} to {horizon[1]}, got {day}")


def period_of(schedule: Schedule, day: dt.date) -> tuple[dt.datetime, dt.datetime]:
    """Begin and end of the first period that begins on a day or later, on the clock on the wall.

    On it a day has one of each time, however often or seldom the zone's clock shows it.
    """
    midnight = dt.datetime.combine(day, dt.time())
    if schedule.schedule is None:
        return midnight, midnight + dt.timedelta(days=1)
    ticks = croniter(schedule.schedule, midnight - dt.timedelta(seconds=1))
    return ticks.get_next(dt.datetime), ticks.get_next(dt.datetime)


def days_behind(schedule: Schedule, day: dt.date, now: dt.datetime) -> Iterator[tuple[dt.date, dt.datetime]]:
    """The days after this one that a catch-up owes too and one session of Spark can make, with their logical dates.

    They follow each other without a gap, so a weekly schedule has none; each one's period is over.

    Args:
        schedule: of the run.
        day: of the run.
        now: the time, with a time zone.
    """
    if not schedule.catchup:
        return
    for step in range(1, schedule.catchup_days):
        following = day + dt.timedelta(days=step)
        if schedule.end_date is not None and following > schedule.end_date:
            return
        try:
            check_day(schedule, following, now)
        except DayError:
            return
        yield following, moment(period_of(schedule, following)[0], ZoneInfo(schedule.timezone))


def moment(wall: dt.datetime, zone: ZoneInfo) -> dt.datetime:
    """The moment at which a schedule's clock time comes, in the zone.

    Of an hour that the clock shows twice the second one, of a time that it skips the one as much later: so Airflow's
    timetables have it, and no period ends before its last hour.

    Args:
        wall: without a time zone.
        zone: of the schedule.
    """
    both = (wall.replace(tzinfo=zone, fold=fold).astimezone(dt.UTC) for fold in (0, 1))
    return max(both).astimezone(zone)
