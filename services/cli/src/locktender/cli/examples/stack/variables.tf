variable "stage" {
  type    = string
  default = "test"
}

variable "servers" {
  type    = number
  default = 2

  validation {
    condition     = var.servers >= 1 && var.servers <= 20
    error_message = "A shop has 1 to 20 servers."
  }
}

variable "address_range" {
  type    = string
  default = "10.10.0.0/16"
}

variable "database_password" {
  type      = string
  sensitive = true
}
