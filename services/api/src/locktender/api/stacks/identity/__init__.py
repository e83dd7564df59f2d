"""Who a run is to others: the API as an issuer of OpenID Connect identity tokens."""
