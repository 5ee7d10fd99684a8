package around

var replica string
