// System.Text.Json has this attribute since .NET 5. It tells a reader which constructor to take; the generated types are read by
// converters of their own.
namespace System.Text.Json.Serialization
{
    [AttributeUsage(AttributeTargets.Constructor)]
    public sealed class JsonConstructorAttribute : Attribute
    {
    }
}
