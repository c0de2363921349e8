"""The tools that change a device's role: another profile over its own, for the time being."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Final

from vixio.core.device import DeviceProfile
from vixio.core.errors import ToolError
from vixio.core.messages import message
from vixio.core.roles import NO_ROLES
from vixio.core.tools.context import ToolContext
from vixio.core.tools.local import func_to_tool_definition
from vixio.core.tools.source import FixedSource
from vixio.core.tools.types import JsonObject, ToolDefinition, ToolOptions
from vixio.data.devices.records import NotKnown, RegistryError
from vixio.data.devices.registry import DeviceRegistry
from vixio.transports.admission.access import RegistryUnavailable

SOURCE: Final = "roles"


class RoleTools:
    """``profile_of`` returns how a device is served now, by its id."""

    def __init__(
        self, registry: DeviceRegistry, profile_of: Callable[[str], DeviceProfile]
    ) -> None:
        self._registry = registry
        self._profile_of = profile_of

    async def take_role(self, role: str, context: ToolContext) -> JsonObject:
        """Let another role speak with the user from now on, when the user asks for it by name.

        It has its own voice and greets the user itself: say no more than a few words of goodbye.

        Args:
            role: What the user calls it.
        """
        roles = self._profile_of(context.device_id).roles or NO_ROLES
        profile = roles.find(role)
        if profile is None:
            known = [roles.called(each, context.language) for each, _ in roles.by_profile]
            listed = message("facts_join", context.language).join(known)
            spoken = message("role_unknown", context.language, roles=listed)
            return {"taken": "", "may_be": known, "spoken": spoken}
        await self._change(context, profile)
        called = roles.called(profile, context.language)
        spoken = message("role_coming", context.language, role=called)
        return {"taken": called, "spoken": spoken}

    async def leave_role(self, context: ToolContext) -> JsonObject:
        """Be yourself again, when the user wants the role to end.

        Say no more than a few words of goodbye: the assistant's own voice follows.
        """
        await self._change(context, "")
        return {"left": True, "spoken": message("role_going", context.language)}

    async def _change(self, context: ToolContext, profile: str) -> None:
        device_id = context.device_id
        actor = f"device:{device_id}"
        try:
            await self._registry.with_repository(
                lambda repository: repository.take_role(device_id, profile, actor)
            )
        except NotKnown as error:
            raise ToolError("not_found", f"there is no such role here: {error}") from error
        except RegistryError as error:
            raise ToolError("failed", str(error)) from error
        except RegistryUnavailable as error:
            words = "the role cannot be stored at the moment: try again"
            raise ToolError("failed", words, retryable=True) from error
        if self._profile_of(device_id).role != profile:
            raise ToolError("denied", "the program decides how this device is served")


def role_source(tools: RoleTools) -> FixedSource:
    """Return the tools; a session has those that its device's profile allows."""
    options = ToolOptions(timeout=10.0, idempotent=True)
    take, leave = (
        func_to_tool_definition(function, SOURCE, options)
        for function in (tools.take_role, tools.leave_role)
    )
    return FixedSource(
        SOURCE, [replace(take, for_profile=_taking), replace(leave, for_profile=_leaving)]
    )


def _taking(tool: ToolDefinition, profile: DeviceProfile) -> ToolDefinition | None:
    """Return the tool with the roles that a profile names; None: it names none."""
    if not profile.roles:
        return None
    names = list(profile.roles.spoken)
    properties = dict(tool.parameters["properties"])
    properties["role"] = {**properties["role"], "examples": names}
    about = f"{tool.description} There are: {', '.join(names)}."
    return replace(
        tool, description=about, parameters={**tool.parameters, "properties": properties}
    )


def _leaving(tool: ToolDefinition, profile: DeviceProfile) -> ToolDefinition | None:
    return tool if profile.role else None
