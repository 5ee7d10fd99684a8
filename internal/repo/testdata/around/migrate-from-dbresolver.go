package around

var replica1 string
var replica2 string
var reports string
