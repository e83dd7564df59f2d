"""The resources of a configuration and what they depend on."""

from locktender.contracts.stacks.analysis import GraphEdge, GraphNode, ResourceGraph
from locktender.integrations.tofu.analysis.reading import Json, Unreadable, a_text, an_object
from locktender.integrations.tofu.analysis.references import Found, Module, Resolver, module_tree

_MOST_EDGES = 200_000


def resource_graph(configuration: Json) -> ResourceGraph:
    """The graph of a described configuration. Sorted, so the same configuration gives the same graph.

    Raises:
        Unreadable: the document is not what the engine writes, or has too many dependencies to be shown.
    """
    root = module_tree(an_object(configuration.get("root_module")))
    resolver = Resolver()
    nodes: list[GraphNode] = []
    edges: dict[tuple[str, str], bool] = {}
    partial: list[str] = []
    for module in root.within():
        inherited = _around(resolver, module)
        for address, config in module.resources.items():
            source = module.full(address)
            nodes.append(_node(source, module, config))
            explicit = resolver.explicit(module, config) | inherited[0]
            inferred = _inferred(resolver, module, config) | inherited[1]
            for found, stated in ((inferred, False), (explicit, True)):
                edges.update(((source, target), stated) for target in found.targets if target != source)
            if explicit.partial or inferred.partial:
                partial.append(source)
            if len(edges) > _MOST_EDGES:
                raise Unreadable("the configuration has too many dependencies")
    return ResourceGraph(
        nodes=tuple(sorted(nodes, key=lambda node: node.address)),
        edges=tuple(GraphEdge(source=one, target=other, explicit=edges[one, other]) for one, other in sorted(edges)),
        partial=tuple(sorted(partial)),
    )


def _around(resolver: Resolver, module: Module) -> tuple[Found, Found]:
    """What every resource of a module depends on because the calls around it do: stated, and by reference."""
    explicit = inferred = Found()
    while module.parent is not None:
        explicit |= resolver.explicit(module.parent, module.call)
        for repeated in ("count_expression", "for_each_expression"):
            inferred |= resolver.expression(module.parent, module.call.get(repeated))
        module = module.parent
    return explicit, inferred


def _inferred(resolver: Resolver, module: Module, config: Json) -> Found:
    found = Found()
    for part in ("expressions", "count_expression", "for_each_expression", "provisioners"):
        found |= resolver.expression(module, config.get(part))
    return found


def _node(address: str, module: Module, config: Json) -> GraphNode:
    return GraphNode(
        address=address,
        module=module.address or None,
        mode=a_text(config.get("mode", "managed")),
        type=a_text(config.get("type")),
        name=a_text(config.get("name")),
    )
