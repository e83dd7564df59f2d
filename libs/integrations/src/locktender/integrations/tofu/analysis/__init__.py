"""What a plan would do and what a state holds, from the JSON of OpenTofu and Terraform. Secrets stay behind."""

from locktender.integrations.tofu.analysis.counting import failed_summary
from locktender.integrations.tofu.analysis.digest import analyse_plan, analyse_state

__all__ = ["analyse_plan", "analyse_state", "failed_summary"]
