"""Tools of your own. Every function here that is marked with `@roomful.tool` can be one."""

import roomful

PRICES = {"laptop": 1299, "phone": 799, "chair": 249}


@roomful.tool(idempotent=True)
def price(product: str) -> int:
    """The price of a product, in dollars."""
    if product not in PRICES:
        raise ValueError(f"we do not sell {product!r}, only {', '.join(PRICES)}")
    return PRICES[product]
