"""Tasks made: deployed, redeployed, or only previewed."""
