# A shop as terraform_data, which every engine has built in: nothing is downloaded, and nothing but the state is made.

terraform {
  required_version = ">= 1.4"
}

locals {
  name    = "shop-${var.stage}"
  servers = [for index in range(var.servers) : format("web-%02d", index + 1)]
}

# A network cannot move: with another range, it is another network.
resource "terraform_data" "network" {
  input            = { name = local.name, range = var.address_range }
  triggers_replace = var.address_range
}

resource "terraform_data" "database" {
  input = { name = "${local.name}-database", network = terraform_data.network.id, password = var.database_password }
}

module "server" {
  source   = "./server"
  for_each = toset(local.servers)

  name    = each.key
  network = terraform_data.network.id
}
