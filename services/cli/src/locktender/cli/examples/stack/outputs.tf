output "address_range" {
  value = terraform_data.network.output.range
}

output "servers" {
  value = [for server in module.server : server.name]
}

output "database_url" {
  value     = "postgres://shop:${var.database_password}@${local.name}-database/shop"
  sensitive = true
}
