"""Logging in to the console with an organisation's own account: OpenID Connect, as an option of `tacit serve`.

    settings    which provider, and the roles of its people here: a file of the owner's, read again when it changes
    provider    what the provider says of itself, its keys, and whether a code and an ID token are genuine
    round_trip  what binds the way out to the way back: state, nonce and the secret of PKCE, all from one cookie

The provider says who somebody is. Only the owner's file says what they may do here, and under which name they pay.
People who are not in it are refused, and nothing that a provider or a browser sends can choose a name or a role.
"""
