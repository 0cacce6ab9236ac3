"""One file a page; each route hands its template exactly one frozen dataclass of declared fields."""
