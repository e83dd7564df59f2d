variable "name" {
  type = string
}

variable "network" {
  type = string
}

resource "terraform_data" "server" {
  input = { name = var.name, network = var.network }
}

output "name" {
  value = terraform_data.server.output.name
}
