"""What the web room itself keeps: whom it recognised, which streams are open, who follows all spaces."""

from roomful.web.auth import Auth
from roomful.web.feeds.people import People
from roomful.web.house import House
from roomful.web.readers import Readers
from roomful.web.sse import FrameShelf
from roomful.web.transfers import Transfers


class Desk:
    def __init__(self, house: House) -> None:
        self.house = house
        self.auth = Auth(house)
        self.readers = Readers(house)
        self.people = People(house)
        self.shelf = FrameShelf()
        self.transfers = Transfers()
