"""OpenTofu and Terraform: finding one, running it under guard, and turning a run into its report."""
