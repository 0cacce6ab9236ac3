"""What people read, in their own language: sentences, days, numbers and lists."""
