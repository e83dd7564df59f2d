"""Short-lived credentials: what a run is given is verified by whoever knows the address of the API, and only that."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import httpx
import jwt
import pytest
from pydantic import SecretStr

from locktender.api.stacks.identity.settings import IdentitySettings
from locktender.contracts.stacks.patience import StackDeadlines
from locktender.contracts.stacks.vocabulary import DeploymentMode
from locktender.contracts.stacks.wire import RunContext, RunSecrets
from locktender.integrations.identity.keys import new_key_text, signing_keys
from locktender.runtime.runs.keys import RunKey
from locktender.testkit.api import RunningApi, running_api
from locktender.testkit.database import TestDatabase
from locktender.testkit.run_api import HeldToken, take_run
from locktender.testkit.servers import NatsServer
from locktender.testkit.stacks import StackRig, new_stack, planned

URL = "https://locktender.example"
OLD, NEW = new_key_text(), new_key_text()
AUDIENCE = "sts.amazonaws.com"
CONFIGURATION, KEYS = "/.well-known/openid-configuration", "/.well-known/jwks.json"
LONGEST = 1800


@asynccontextmanager
async def issuing(db: TestDatabase, nats: NatsServer, *keys: str) -> AsyncGenerator[RunningApi]:
    """An API that signs with the first of the keys, under an address with a slash too many."""
    identity = IdentitySettings(keys=SecretStr("\n".join(keys)), most_seconds=LONGEST)
    async with running_api(db, nats, identity=identity, public_url=URL + "/") as running:
        yield running


@pytest.fixture(scope="module")
async def api(module_db: TestDatabase, nats_server: NatsServer) -> AsyncGenerator[RunningApi]:
    async with issuing(module_db, nats_server, OLD) as running:
        yield running


@pytest.fixture
def db(module_db: TestDatabase) -> TestDatabase:
    """Each test has stacks of its own."""
    return module_db


async def put(api: RunningApi, rig: StackRig, kind: str, name: str, **body: Any) -> httpx.Response:
    stack = (await rig.stack())["name"]
    return await api.http.put(f"/v1/workspaces/acme/stacks/{stack}/variables/{kind}/{name}", json=body)


async def opened(api: RunningApi, run: HeldToken) -> tuple[RunContext, RunSecrets]:
    """What a runner gets."""
    key = RunKey()
    answer = await api.http.get(run.path("/context"), params={"key": key.public}, headers=run.bearer)
    assert answer.status_code == 200, answer.text
    context = RunContext.model_validate_json(answer.content)
    return context, key.unseal(context)


async def token_of(api: RunningApi, run: HeldToken) -> str:
    _, secrets = await opened(api, run)
    return secrets.tokens["CLOUD_TOKEN"].get_secret_value()


async def verified(api: RunningApi, token: str, audience: str = AUDIENCE) -> dict[str, Any]:
    """The claims, as a cloud finds them valid that knows the issuer's address alone."""
    async with httpx.AsyncClient(base_url=api.url, trust_env=False) as anybody:
        found = await anybody.get(CONFIGURATION)
    assert (found.status_code, found.headers["cache-control"]) == (200, "public, max-age=300"), found.text
    configuration = found.json()
    assert (configuration["issuer"], configuration["jwks_uri"]) == (URL, URL + KEYS)
    reachable = jwt.PyJWKClient(api.url + KEYS)

    def verify() -> dict[str, Any]:
        claims = jwt.decode(
            token, reachable.get_signing_key_from_jwt(token), audience=audience, issuer=configuration["issuer"],
            algorithms=configuration["id_token_signing_alg_values_supported"],
        )  # fmt: skip
        assert set(claims) == set(configuration["claims_supported"])
        return claims

    return await asyncio.to_thread(verify)


async def stack_with_token(api: RunningApi, db: TestDatabase, **stated: Any) -> StackRig:
    rig = await new_stack(db, **stated)
    answer = await put(api, rig, "token", "CLOUD_TOKEN", value=AUDIENCE)
    assert answer.status_code == 200, answer.text
    assert (answer.json()["sensitive"], answer.json()["value"]) == (False, AUDIENCE)
    return rig


async def test_a_cloud_verifies_the_token_of_a_run_and_tells_a_plan_from_an_apply(
    api: RunningApi, db: TestDatabase, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NO_PROXY", "*")
    rig = await stack_with_token(api, db, auto_approve="auto")
    file = await put(api, rig, "token-file", "AZURE_FILE", value="api://AzureADTokenExchange")
    assert file.status_code == 200, file.text
    deployment = await rig.deploy()
    run = await take_run(rig, deployment)
    context, secrets = await opened(api, run)
    assert (context.environment, context.variables) == ({}, {})
    token = secrets.tokens["CLOUD_TOKEN"].get_secret_value()
    assert jwt.get_unverified_header(token) == {"alg": "RS256", "typ": "JWT", "kid": signing_keys(OLD)[0].thumbprint}
    claims = await verified(api, token)
    stack = await rig.stack()
    assert claims["sub"] == f"workspace:acme:project:shop:stack:{stack['name']}:mode:plan"
    assert {name: claims[name] for name in ("workspace", "project", "stack", "mode", "epoch", "deployment_number")} == {
        "workspace": "acme", "project": "shop", "stack": stack["name"], "mode": "plan", "epoch": 1,
        "deployment_number": 1,
    }  # fmt: skip
    ids = (claims["stack_id"], claims["deployment_id"], claims["run_id"])
    assert ids == (str(rig.stack_id), str(deployment), str(run.id))
    assert claims["exp"] - claims["iat"] == LONGEST < StackDeadlines().run_ttl

    other = await verified(api, secrets.token_files["AZURE_FILE"].get_secret_value(), "api://AzureADTokenExchange")
    assert other["jti"] != claims["jti"]
    again, _ = await opened(api, run)
    assert again.variables_digest == context.variables_digest
    with pytest.raises(jwt.InvalidAudienceError):
        await verified(api, token, "somebody.else")

    report = planned().model_dump(mode="json", by_alias=True)
    assert (await api.http.post(run.path("/done"), json=report, headers=run.bearer)).status_code == 200
    applied = await verified(api, await token_of(api, await take_run(rig, deployment)))
    assert applied["sub"] == claims["sub"].removesuffix("plan") + "apply"


async def test_after_a_rotation_old_tokens_are_still_verified_and_the_new_key_signs(
    api: RunningApi, db: TestDatabase, nats_server: NatsServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NO_PROXY", "*")
    rig = await stack_with_token(api, db)
    run = await take_run(rig, await rig.deploy())
    old = await token_of(api, run)
    async with issuing(db, nats_server, NEW, OLD) as rotated:
        new = await token_of(rotated, run)
        assert jwt.get_unverified_header(new)["kid"] == signing_keys(NEW)[0].thumbprint
        assert (await verified(rotated, old))["sub"] == (await verified(rotated, new))["sub"]
    with pytest.raises(jwt.PyJWKClientError):
        await verified(api, new)


async def test_without_keys_nothing_is_published_set_or_started(
    api: RunningApi, db: TestDatabase, nats_server: NatsServer
) -> None:
    rig = await stack_with_token(api, db)
    run = await take_run(rig, await rig.deploy(DeploymentMode.REFRESH))
    key = RunKey()
    async with running_api(db, nats_server) as without:
        published = [await without.http.get(path) for path in (CONFIGURATION, KEYS)]
        refused = await put(without, rig, "token-file", "OTHER", value=AUDIENCE)
        context = await without.http.get(run.path("/context"), params={"key": key.public}, headers=run.bearer)
    assert [(each.status_code, each.headers["cache-control"]) for each in published] == [(404, "no-store")] * 2
    for answer in (refused, context):
        assert (answer.status_code, answer.json()["errors"][0]["code"]) == (400, "no-identity-keys")
        assert "LOCKTENDER_IDENTITY__KEYS" in answer.json()["detail"]
    assert "(CLOUD_TOKEN)" in context.json()["detail"]


@pytest.mark.parametrize(
    ("address", "body", "code"),
    [
        ("token/CLOUD_TOKEN", {"value": AUDIENCE, "sensitive": True}, "not-sensitive"),
        ("token/CLOUD_TOKEN", {"value": ""}, "invalid-audience"),
        ("token/CLOUD_TOKEN", {"value": "two words"}, "invalid-audience"),
        ("token-file/CLOUD_TOKEN", {"value": "ä"}, "invalid-audience"),
        ("token-file/CLOUD_TOKEN", {"value": "a" * 256}, "invalid-audience"),
        ("token/TF_HTTP_PASSWORD", {"value": AUDIENCE}, "reserved-name"),
        ("token/TF_VAR_", {"value": AUDIENCE}, "reserved-name"),
        ("token-file/TF_VAR_identity", {"value": AUDIENCE}, "reserved-name"),
        ("token/WITH-DASH", {"value": AUDIENCE}, "invalid-name"),
        ("token/TAKEN", {"value": AUDIENCE}, "name-taken"),
        ("token-file/TAKEN", {"value": AUDIENCE}, "name-taken"),
        ("token/TF_VAR_region", {"value": AUDIENCE}, "name-taken"),
        ("variable/identity", {"value": "x"}, "name-taken"),
        ("environment/TF_VAR_identity", {"value": "x"}, "reserved-name"),
    ],
)
async def test_a_token_that_cannot_be_is_refused(
    api: RunningApi, db: TestDatabase, address: str, body: dict[str, Any], code: str
) -> None:
    rig = await new_stack(db)
    for kind, name in (("environment", "TAKEN"), ("variable", "region"), ("token", "TF_VAR_identity")):
        assert (await put(api, rig, kind, name, value="north")).status_code == 200
    answer = await put(api, rig, *address.split("/"), **body)
    assert (answer.status_code, answer.json()["errors"][0]["code"]) == (400, code)


async def test_a_name_in_the_environment_is_free_again_once_it_is_unset(api: RunningApi, db: TestDatabase) -> None:
    rig = await stack_with_token(api, db)
    refused = await put(api, rig, "environment", "CLOUD_TOKEN", value="long-lived")
    assert "as another kind, `token`" in refused.json()["detail"]
    stack = (await rig.stack())["name"]
    gone = await api.http.delete(f"/v1/workspaces/acme/stacks/{stack}/variables/token/CLOUD_TOKEN")
    assert gone.json() == {"variables": []}
    assert (await put(api, rig, "environment", "CLOUD_TOKEN", value="long-lived")).json()["value"] is None
