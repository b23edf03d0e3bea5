//! .
fn main() {
    println!("{:?}", superdense::plot::draw(std::path::Path::new(&std::env::args().nth(1).unwrap())));
}
