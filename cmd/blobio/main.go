package main

func main() { Main() }
