"""Reading inbound mail: which lines are new, what a lead states, which mail is automatic. Pure."""
