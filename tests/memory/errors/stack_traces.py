"""Stacks as languages print them, and the frame on top of each."""

from memory_app.errors.stack_frames import Frame

PYTHON = """Traceback (most recent call last):
  File "/shop/run.py", line 3, in main
    serve()
  File "/shop/cart/views.py", line 18, in get
    1 / 0
    ~~^~~
ZeroDivisionError: division by zero
"""
PYTHON_CHAINED = """Traceback (most recent call last):
  File "a.py", line 1, in first
    x()
KeyError: 1

During handling of the above exception, another exception occurred:

Traceback (most recent call last):
  File "b.py", line 2, in second
    y()
ValueError: 2
"""
JAVASCRIPT = """TypeError: x is undefined
    at async Cart.add [as push] (https://shop/js/cart.js:12:5)
    at main.js:1:1"""
JAVASCRIPT_UNNAMED = """Error: x
    at https://shop/js/cart.js:12:5"""
FIREFOX = """add@https://shop/js/cart.js:12:5
@https://shop/js/main.js:1:1"""
JAVA = """Exception in thread "main" java.lang.IllegalStateException: empty
\tat com.shop.Cart.add(Cart.java:12)
\tat java.base/java.lang.Thread.run(Thread.java:833)
Caused by: java.io.IOException: x
\tat com.shop.Disk.read(Disk.java:1)"""
CSHARP = """System.DivideByZeroException: Attempted to divide by zero.\r
   at Shop.Cart.Add(String name, Int32 n) in /app/Pages/Cart.cs:line 12\r
   at Shop.Program.Main()"""
CSHARP_WITHOUT_FILE = """System.FormatException: x
   at System.Int32.Parse(String s)
   at Shop.Cart.Add() in /app/Cart.cs:line 1"""
GO = """panic: boom

goroutine 1 [running]:
panic({0x4a, 0x4b})
\t/usr/local/go/src/runtime/panic.go:884 +0x213
main.(*Cart).Add(0xc000012, {0x1, 0x2})
\t/shop/cart/cart.go:12 +0x1d
main.main()
\t/shop/main.go:3 +0x25
"""
RUBY = """/shop/cart.rb:12:in 'Cart#add': boom (RuntimeError)
\tfrom run.rb:3:in 'main'"""
PHP = """#0 /shop/index.php(12): Shop\\Cart->add('x')
#1 {main}"""
RUST = """stack backtrace:
   0: rust_begin_unwind
             at /rustc/ab/std/src/panicking.rs:652:5
   1: core::panicking::panic_fmt
             at /rustc/ab/core/src/panicking.rs:72:14
   2: shop::cart::add
             at ./src/cart.rs:12:5
"""
STACKS = {
    "python": (PYTHON, Frame("/shop/cart/views.py", "get", 18)),
    "python, chained": (PYTHON_CHAINED, Frame("b.py", "second", 2)),
    "javascript": (JAVASCRIPT, Frame("https://shop/js/cart.js", "async Cart.add [as push]", 12)),
    "javascript, unnamed": (JAVASCRIPT_UNNAMED, Frame("https://shop/js/cart.js", "", 12)),
    "firefox": (FIREFOX, Frame("https://shop/js/cart.js", "add", 12)),
    "java": (JAVA, Frame("Cart.java", "com.shop.Cart.add", 12)),
    "csharp": (CSHARP, Frame("/app/Pages/Cart.cs", "Shop.Cart.Add", 12)),
    "csharp, without a file": (CSHARP_WITHOUT_FILE, Frame("", "System.Int32.Parse")),
    "go": (GO, Frame("/shop/cart/cart.go", "main.(*Cart).Add", 12)),
    "ruby": (RUBY, Frame("/shop/cart.rb", "Cart#add", 12)),
    "php": (PHP, Frame("/shop/index.php", "Shop\\Cart->add", 12)),
    "rust": (RUST, Frame("./src/cart.rs", "shop::cart::add", 12)),
}
