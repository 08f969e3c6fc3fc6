"""News of who came and who went, for the space's readers and for the one it is about."""

from roomful.domain.events import Announcement, MemberJoined, MemberLeft
from roomful.domain.news import Moved
from roomful.domain.spaces import Member
from roomful.web.desk import Desk


def tell_joined(desk: Desk, space_id: str, member: Member) -> None:
    desk.people.joined(member.entity_id, space_id)
    event = MemberJoined(space_id=space_id, member=member)
    desk.house.announcer([Announcement(event=event, space_id=space_id)])
    desk.house.others.tell(Moved(member.entity_id, space_id, True))


def tell_left(desk: Desk, space_id: str, member: Member) -> None:
    """The member's own streams of this space end with it."""
    event = MemberLeft(space_id=space_id, member=member)
    desk.house.announcer([Announcement(event=event, space_id=space_id)])
    desk.people.left(member.entity_id, space_id)
    desk.house.others.tell(Moved(member.entity_id, space_id, False))
